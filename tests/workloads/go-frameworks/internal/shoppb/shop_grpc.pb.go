// SPDX-License-Identifier: Apache-2.0

// Package shoppb is what a generator makes of a service whose messages are of the well-known types.
package shoppb

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ShopServer is the service.
type ShopServer interface {
	PlaceOrder(context.Context, *structpb.Struct) (*wrapperspb.StringValue, error)
	Collect(context.Context, *structpb.ListValue) (*wrapperspb.Int64Value, error)
	Login(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error)
	Review(context.Context, *wrapperspb.StringValue) (*wrapperspb.Int64Value, error)
	Report(context.Context, *wrapperspb.StringValue) (*wrapperspb.BytesValue, error)
}

func _Shop_PlaceOrder_Handler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(structpb.Struct)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ShopServer).PlaceOrder(ctx, in)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Shop/PlaceOrder"}
	handler := func(ctx context.Context, req any) (any, error) {
		return srv.(ShopServer).PlaceOrder(ctx, req.(*structpb.Struct))
	}
	return interceptor(ctx, in, info, handler)
}

func _Shop_Collect_Handler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(structpb.ListValue)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ShopServer).Collect(ctx, in)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Shop/Collect"}
	handler := func(ctx context.Context, req any) (any, error) {
		return srv.(ShopServer).Collect(ctx, req.(*structpb.ListValue))
	}
	return interceptor(ctx, in, info, handler)
}

func _Shop_Login_Handler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.StringValue)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ShopServer).Login(ctx, in)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Shop/Login"}
	handler := func(ctx context.Context, req any) (any, error) {
		return srv.(ShopServer).Login(ctx, req.(*wrapperspb.StringValue))
	}
	return interceptor(ctx, in, info, handler)
}

func _Shop_Review_Handler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.StringValue)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ShopServer).Review(ctx, in)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Shop/Review"}
	handler := func(ctx context.Context, req any) (any, error) {
		return srv.(ShopServer).Review(ctx, req.(*wrapperspb.StringValue))
	}
	return interceptor(ctx, in, info, handler)
}

func _Shop_Report_Handler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.StringValue)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ShopServer).Report(ctx, in)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/shop.Shop/Report"}
	handler := func(ctx context.Context, req any) (any, error) {
		return srv.(ShopServer).Report(ctx, req.(*wrapperspb.StringValue))
	}
	return interceptor(ctx, in, info, handler)
}

// RegisterShopServer adds the service to a server.
func RegisterShopServer(s grpc.ServiceRegistrar, srv ShopServer) {
	s.RegisterService(&description, srv)
}

var description = grpc.ServiceDesc{
	ServiceName: "shop.Shop",
	HandlerType: (*ShopServer)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: "PlaceOrder", Handler: _Shop_PlaceOrder_Handler},
		{MethodName: "Collect", Handler: _Shop_Collect_Handler},
		{MethodName: "Login", Handler: _Shop_Login_Handler},
		{MethodName: "Review", Handler: _Shop_Review_Handler},
		{MethodName: "Report", Handler: _Shop_Report_Handler},
	},
}
